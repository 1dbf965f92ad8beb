// The load test: all of it is in MediaLoad.
import Glibc
import MediaLoad

exit(LoadProgram.run(CommandLine.arguments))
