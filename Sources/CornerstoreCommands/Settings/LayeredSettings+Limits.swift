import HTTPSupport
import Logging

extension LayeredSettings {
    /// The bounds on connections and bodies. Raises the number of files that the process may open first, on which the
    /// usual number of connections depends.
    /// - Parameters:
    ///   - ports: how many ports share the files.
    ///   - isBehindProxy: whether all connections come from a proxy's address, which cannot be bounded then.
    ///   - connections: the option for the connections of a port.
    ///   - perAddress: the option for the connections of an address.
    ///   - bodyMemory: the option for the room of bodies, in MiB.
    /// - Throws: ``CommandError`` that names the option.
    func limits(
        ports: Int, isBehindProxy: Bool, connections: Name, perAddress: Name, bodyMemory: Name
    ) throws -> ServerLimits {
        OpenFiles.raise()
        let usual = ServerLimits.Values()
        let room = try number(bodyMemory, 16...1_048_576, otherwise: usual.bodyBytes >> 20) << 20
        let most = try number(perAddress, 1...1_048_576, otherwise: usual.connectionsPerAddress ?? 256)
        return ServerLimits(
            ServerLimits.Values(
                connections: try number(
                    connections, 1...1_048_576, otherwise: ServerLimits.mostConnections(sharedBy: ports)),
                connectionsPerAddress: isBehindProxy ? nil : most, bodyBytes: room))
    }
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
