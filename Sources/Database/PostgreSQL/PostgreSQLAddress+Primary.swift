import Synchronization

extension PostgreSQLAddress {
    /// The parameters that are lists with an element for each server.
    private static let lists: Set = ["host", "hostaddr", "port"]
    /// The place of the last primary in each list of servers.
    private static let primaries = Mutex<[String: Int]>([:])

    /// The parameters for a new connection: the server is tried first at which this process last found the primary.
    ///
    /// After a failover the former primary's machine may be gone for good. Each connection would wait for it first.
    var parametersForConnection: [(keyword: String, value: String)] {
        guard let first = Self.primaries.withLock({ $0[servers] }) else { return parameters }
        return parameters.map { keyword, value in
            guard Self.lists.contains(keyword) else { return (keyword, value) }
            let elements = value.split(separator: ",", omittingEmptySubsequences: false)
            // A single port is that of all servers.
            guard first < elements.count else { return (keyword, value) }
            return (keyword, (elements[first...] + elements[..<first]).joined(separator: ","))
        }
    }

    /// Remembers the server of a connection, unless the address allows connections to standbys.
    ///
    /// - Parameters:
    ///   - host: The element of `host`; without one, that of `hostaddr`.
    ///   - port: The port's number.
    func rememberPrimary(host: String, port: String) {
        let values = Dictionary(parameters.map { ($0.keyword, $0.value) }) { $1 }
        guard ["read-write", "primary"].contains(values["target_session_attrs"] ?? "") else { return }
        func elements(_ keyword: String) -> [Substring] {
            (values[keyword] ?? "").split(separator: ",", omittingEmptySubsequences: false)
        }
        let (hosts, addresses, ports) = (elements("host"), elements("hostaddr"), elements("port"))
        let place = (0..<max(hosts.count, addresses.count)).first { place in
            let names = [hosts, addresses].compactMap { place < $0.count ? $0[place] : nil }
            // The usual port is empty.
            let number = ports.count == 1 ? ports[0] : place < ports.count ? ports[place] : ""
            return names.contains { $0 == host } && (number.isEmpty || number == port)
        }
        guard let place else { return }
        Self.primaries.withLock { $0[servers] = place }
    }

    /// The list of servers.
    private var servers: String {
        parameters.filter { Self.lists.contains($0.keyword) }.map { "\($0.keyword)=\($0.value)" }
            .joined(separator: " ")
    }
}
