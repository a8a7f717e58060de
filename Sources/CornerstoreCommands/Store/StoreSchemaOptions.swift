import ArgumentParser

/// The options that locate a store on PostgreSQL, for commands that work on nothing else.
struct StoreSchemaOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The PostgreSQL database (CORNERSTORE_DATABASE).", valueName: "url"))
    var database: String?
    @Option(
        help: ArgumentHelp(
            "The prefix of the store's schemas (CORNERSTORE_SCHEMA_PREFIX, else cornerstore).", valueName: "text"))
    var schemaPrefix: String?

    /// Returns the database's URL and the prefix that the command line, the environment or the file `config` names.
    /// - Throws: ``CommandError`` when none names a database, or a setting is wrong.
    func place(config: String? = nil) throws -> (url: String, prefix: String) {
        var flags: [ServeSetting: String] = [:]
        flags[.database] = database
        flags[.schemaPrefix] = schemaPrefix
        let configuration = try ServeSettings(
            flags: flags, files: [], productsFiles: [], environment: Console.current.environment,
            file: try config.map { try ConfigurationFile.read($0) }
        ).configuration()
        guard let url = configuration.databaseURL else {
            throw CommandError(.usage, "Name the store's database with --database, or in CORNERSTORE_DATABASE.")
        }
        return (url, configuration.schemaPrefix)
    }
}
