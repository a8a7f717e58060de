import Database

extension StoreDatabases {
    /// The membership of this process among those that share the databases; nil for a store of one process.
    public var membership: Membership? { nil }
}
