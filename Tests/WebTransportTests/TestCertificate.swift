import WebTransport

/// A self-signed certificate for `localhost` and 127.0.0.1, made for these tests, valid until 2126.
enum TestCertificate {
    static let chain = """
        -----BEGIN CERTIFICATE-----
        MIIBoDCCAUWgAwIBAgIUbXyUtlIeIeyd3xiq39dORQ26pe4wCgYIKoZIzj0EAwIw
        FjEUMBIGA1UEAwwLcGFybG9yIHRlc3QwIBcNMjYxMTMwMDg0MTAxWhgPMjEyNjEx
        MDYwODQxMDFaMBYxFDASBgNVBAMMC3BhcmxvciB0ZXN0MFkwEwYHKoZIzj0CAQYI
        KoZIzj0DAQcDQgAErgDphNLDYVP6tXZ97WhQ5A4MXi7r0n/IuRK3hj4dxR1hhSXm
        y+ENEBf57rfqdTUFi7v7gR63lbzd8XU2UayCZqNvMG0wHQYDVR0OBBYEFGhbudNd
        Cn3N169wtBz1NVuPQUCUMB8GA1UdIwQYMBaAFGhbudNdCn3N169wtBz1NVuPQUCU
        MA8GA1UdEwEB/wQFMAMBAf8wGgYDVR0RBBMwEYIJbG9jYWxob3N0hwR/AAABMAoG
        CCqGSM49BAMCA0kAMEYCIQCDwBvlxJvncp2YQqBI91CZKl+RvtlFPP7kK5m+dytc
        fwIhAOqXCtPkYeIQBtpqC91BsMJBkZHFY4YTDrPvllh6Sopu
        -----END CERTIFICATE-----
        """

    static let key = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQguhVj9ji4mIVuDNMD
        pDlKKFMYHBlGuIcLDh5cUyJ87jOhRANCAASuAOmE0sNhU/q1dn3taFDkDgxeLuvS
        f8i5EreGPh3FHWGFJebL4Q0QF/nut+p1NQWLu/uBHreVvN3xdTZRrIJm
        -----END PRIVATE KEY-----
        """

    /// A key that does not belong to the certificate.
    static let otherKey = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgGoQkplUlo9abIIHA
        dzp2En77F134GUChdNavyDsTdDmhRANCAAS2nK/ZNjiMhB+zOuoUp0vph4flaE26
        N9NVN0cbfHc2uc9YV4StU+HsuR98bfLEB4YXGUjZ+Hfnz7TPH69JtUbp
        -----END PRIVATE KEY-----
        """

    static func configuration() throws -> TLSConfiguration {
        try TLSConfiguration(certificateChain: .text(chain), privateKey: .text(key))
    }
}
