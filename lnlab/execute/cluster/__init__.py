"""Units on a cluster, through Ray: the same workers, each behind an actor on some node. Ray is imported here alone."""
