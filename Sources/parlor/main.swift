// The node: all of it is in ParlorNode.
import Glibc
import ParlorNode

exit(Program.run(CommandLine.arguments))
