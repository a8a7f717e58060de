/// What one reading thread does: keeps a connection and runs transactions on it.
final class SQLiteReader {
    private let path: String
    private let settings: SQLiteSettings
    private var session: SQLiteConnection?

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
        let session = try self.session ?? SQLiteConnection(path: path, .readOnly, cache: settings.readerCache)
        self.session = session
        try session.run(.begin)
        defer {
            if session.isInsideTransaction { try? session.run(.rollback) }
            // A transaction that cannot be ended would show its old state for ever.
            if session.isInsideTransaction { self.session = nil }
        }
        return try job.run(on: Connection(session, longest: nil))
    }
}
