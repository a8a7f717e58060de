import HTTPSupport
import Logging
import MerchantServer

extension LayeredSettings where Name: ServerSettingName {
    /// The bounds on connections and bodies. Raises the number of files that the process may open first, on which the
    /// usual number of connections depends. A proxy's address, from which all connections come, is not bounded.
    /// - Parameter ports: how many ports share the files.
    /// - Throws: ``CommandError`` that names the option.
    func limits(ports: Int) throws -> ServerLimits {
        OpenFiles.raise()
        let usual = ServerLimits.Values()
        let room = try number(.maxBodyMemory, 16...1_048_576, otherwise: usual.bodyBytes >> 20) << 20
        let most = try number(
            .maxConnectionsPerAddress, 1...1_048_576, otherwise: usual.connectionsPerAddress ?? 256)
        return ServerLimits(
            ServerLimits.Values(
                connections: try number(
                    .maxConnections, 1...1_048_576, otherwise: ServerLimits.mostConnections(sharedBy: ports)),
                connectionsPerAddress: try isSet(.behindProxy) ? nil : most, bodyBytes: room))
    }

    /// How often addresses, users and keys may ask the merchant; nil for no bound.
    /// - Throws: ``CommandError`` that names the option.
    func rates() throws -> RateLimits.Rates? {
        let usual = RateLimits.Rates.standard
        let rates = RateLimits.Rates(
            address: try rate(.addressRate, otherwise: usual.address),
            user: try rate(.userRate, otherwise: usual.user), key: try rate(.keyRate, otherwise: usual.key))
        return try isSet(.noRateLimits) ? nil : rates
    }

    func logFormat() throws -> LogFormat { try choice(.logFormat, otherwise: .text) }

    func logLevel() throws -> Logger.Level { try choice(.logLevel, otherwise: .notice) }
}

extension ServerLimits {
    /// Says in the log how many files the process may open and what follows from it.
    func tell(_ logger: Logger) {
        logger.notice(
            "limits",
            metadata: [
                "openFiles": .stringConvertible(OpenFiles.limit),
                "connectionsOfAPort": .stringConvertible(values.connections),
                "connectionsOfAnAddress": .string(values.connectionsPerAddress.map(String.init) ?? "any"),
                "bodies": .string("\(values.bodyBytes >> 20) MiB"),
            ])
    }
}
