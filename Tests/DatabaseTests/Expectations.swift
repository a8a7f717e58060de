import Database
import Testing

/// Expects a ``DatabaseError`` of a kind, and gives it.
@discardableResult
func expect<T>(
    _ code: DatabaseError.Code, sourceLocation: SourceLocation = #_sourceLocation, _ body: () async throws -> T
) async -> DatabaseError? {
    do {
        _ = try await body()
        Issue.record("expected \(code), and nothing was thrown", sourceLocation: sourceLocation)
    } catch let error as DatabaseError {
        #expect(error.code == code, "\(error.detail)", sourceLocation: sourceLocation)
        return error
    } catch {
        Issue.record("expected \(code), and got \(error)", sourceLocation: sourceLocation)
    }
    return nil
}
