"""The command line: one file a command. It parses and prints; every figure comes from the library."""
