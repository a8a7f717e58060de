/// The work of one reader thread: keeps a connection and runs transactions on it.
final class SQLiteReader {
    private let path: String
    private let settings: SQLiteSettings
    private var session: SQLiteSession?

    init(_ path: String, _ settings: SQLiteSettings) {
        self.path = path
        self.settings = settings
    }

    /// Runs a job to its end and answers its caller.
    func perform(_ job: Job) {
        do {
            let completion = try run(job)
            completion()
        } catch {
            job.fail(error)
        }
    }

    private func run(_ job: Job) throws -> Job.Completion {
        let session = try self.session ?? SQLiteSession(path: path, .readOnly, cache: settings.readerCache)
        self.session = session
        try session.begin()
        defer {
            session.rollback()
            // A transaction that cannot be ended would read its old state forever, so discard the connection.
            if session.isInsideTransaction { self.session = nil }
        }
        return try job.run(on: Connection(session, longest: nil))
    }
}
