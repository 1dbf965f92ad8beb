// WebTransport
