import HTTPSupport
import Logging
import MerchantServer

extension LayeredSettings where Name: ServerSettingName {
    /// Returns the limits of connections and bodies.
    ///
    /// It first raises the limit of open files, on which the default number of connections depends. Behind a proxy,
    /// connections per address are not limited, because all of them come from the proxy's address.
    /// - Parameters:
    ///   - ports: the number of ports that share the limit of open files.
    ///   - databaseConnections: the number of connections to PostgreSQL, which share it, too.
    /// - Throws: ``CommandError`` that names the option.
    func limits(ports: Int, databaseConnections: Int = 0) throws -> ServerLimits {
        OpenFiles.raise()
        let usual = ServerLimits.Values()
        let room = try number(.maxBodyMemory, 16...1_048_576, otherwise: usual.bodyBytes >> 20) << 20
        let most = try number(
            .maxConnectionsPerAddress, 1...1_048_576, otherwise: usual.connectionsPerAddress ?? 256)
        return ServerLimits(
            ServerLimits.Values(
                connections: try number(
                    .maxConnections, 1...1_048_576,
                    otherwise: ServerLimits.mostConnections(sharedBy: ports, databaseConnections: databaseConnections)),
                connectionsPerAddress: try isSet(.behindProxy) ? nil : most, bodyBytes: room))
    }

    /// Returns the merchant's rate limits of addresses, users and API keys; nil for no limits.
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
    /// Logs the limit of open files and the limits of connections and bodies.
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
