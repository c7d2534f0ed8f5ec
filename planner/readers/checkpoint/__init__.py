"""What a checkpoint stores, from its headers: which tensor is for what, in which bytes, and whether all are there."""
