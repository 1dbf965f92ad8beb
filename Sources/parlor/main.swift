// the node
