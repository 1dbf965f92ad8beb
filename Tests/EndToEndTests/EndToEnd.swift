import Testing

/// Real processes, real sockets, one test after the other: each suite below is part of this one.
@Suite(.serialized, .timeLimit(.minutes(3))) enum EndToEnd {}
