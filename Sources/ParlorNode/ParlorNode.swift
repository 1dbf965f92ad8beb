// ParlorNode
