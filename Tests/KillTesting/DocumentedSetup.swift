import Foundation

/// The setup that `Documentation/SeveralProcesses.md` describes, so that its files are those that are tested.
enum DocumentedSetup {
    /// A fenced block of the page.
    /// - Parameter name: the block's name, which follows the language: ` ```nginx nginx.conf `.
    /// - Throws: ``KillTestError`` when the page has no such block.
    static func block(_ name: String) throws -> String {
        var package = URL(fileURLWithPath: #filePath)
        for _ in 0..<3 { package.deleteLastPathComponent() }
        let page = try String(
            contentsOf: package.appendingPathComponent("Documentation/SeveralProcesses.md"), encoding: .utf8)
        var block: [Substring]?
        for line in page.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("```") {
                if let block { return block.joined(separator: "\n") }
                if line.hasSuffix(" \(name)") { block = [] }
            } else {
                block?.append(line)
            }
        }
        throw KillTestError("Documentation/SeveralProcesses.md has no block “\(name)”")
    }

    /// The page's configuration of nginx, for servers on this machine.
    /// - Parameters:
    ///   - stores: the hosts and ports (`127.0.0.1:8401`) of the sandbox, the production and the storefront of two to
    ///     nine stores, whose numbers begin with 1.
    ///   - merchants: each merchant's host and port.
    ///   - proxy: the ports at which nginx listens: sandbox, production, storefront, merchant and OCSP.
    static func nginx(stores: [[String]], merchants: [String], proxy: [Int]) throws -> String {
        var text = try block("nginx.conf")
        let servers = (0..<3).map { kind in stores.map { $0[kind] } } + [merchants]
        for (kind, port) in [8401, 8402, 8403, 8410].enumerated() {
            // The page shows two machines; more of them follow the second.
            let options = " max_fails=0;"
            let more = servers[kind].dropFirst(2).map { " server \($0)\(options)" }.joined()
            let last = "server 10.0.0.12:\(port)\(options)"
            text = text.replacing(last, with: last + more)
            for (machine, server) in zip(["10.0.0.11", "10.0.0.12"], servers[kind]) {
                text = text.replacing("\(machine):\(port)", with: server)
            }
        }
        for (usual, port) in zip([8401, 8402, 8403, 8410, 80], proxy) {
            text = text.replacing("listen \(usual);", with: "listen 127.0.0.1:\(port);")
        }
        for number in stores.indices.dropFirst(2) {
            for (kind, name) in ["sandbox", "production", "storefront"].enumerated() {
                text = "upstream \(name)_0\(number + 1) { server \(stores[number][kind]); }\n" + text
            }
        }
        let shown = "(?<node>01|02)"
        guard text.contains(shown) else { throw KillTestError("the page's nginx.conf has no map of two processes") }
        let nodes = stores.indices.map { "0\($0 + 1)" }.joined(separator: "|")
        text = text.replacing(shown, with: "(?<node>\(nodes))")
        guard !text.contains("10.0.0."), text.firstMatch(of: /listen [0-9]+;/) == nil else {
            throw KillTestError("the page's nginx.conf has unknown addresses")
        }
        return text
    }
}
