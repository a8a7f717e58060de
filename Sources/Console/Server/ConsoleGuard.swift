import HTTPSupport

extension PageGuardMiddleware<ConsoleRequestContext> {
    /// The guard of the console, which answers to the names of this machine, or with an admin token to the name that
    /// the operator gave.
    static func console(_ configuration: ConsoleConfiguration) -> Self {
        Self(
            allows: { name in
                if ["cornerstore.localhost", "localhost", "127.0.0.1", "[::1]"].contains(name) { return true }
                guard configuration.adminToken != nil, let host = configuration.publicHost else { return false }
                return name == host.lowercased()
            },
            misdirected: "The console does not answer to this name. Open http://cornerstore.localhost and its port, "
                + "or name the host with --console-host, which needs an admin token.",
            foreign: "The console takes forms from its own pages only.")
    }
}
