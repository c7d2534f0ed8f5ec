"""What a person gives, by name, figure or file, to a model, a deployment and a workload."""
