import Foundation

/// Shows a progress indicator on a terminal for work that takes longer than a second.
enum Progress {
    private static let frames = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"]

    /// Runs `body` and shows `text` beside a spinner meanwhile.
    /// - Parameter saysSoInLogs: whether to print `text` once, after five seconds, when standard error is not a
    ///   terminal.
    static func during<T: Sendable>(
        _ text: String, saysSoInLogs: Bool = false, _ body: () async throws -> T
    ) async rethrows -> T {
        let console = Console.current
        guard console.showsProgress else {
            let notice = Task {
                guard saysSoInLogs, (try? await Task.sleep(for: .seconds(5))) != nil else { return }
                console.write("\(text)…\n", .error)
            }
            defer { notice.cancel() }
            return try await body()
        }
        let wheel = Task { await turn(text, console) }
        defer { wheel.cancel() }
        do {
            let result = try await body()
            wheel.cancel()
            await wheel.value
            return result
        } catch {
            wheel.cancel()
            await wheel.value
            throw error
        }
    }

    private static func turn(_ text: String, _ console: Console) async {
        guard (try? await Task.sleep(for: .seconds(1))) != nil else { return }
        var turn = 0
        repeat {
            console.write("\r\(frames[turn % frames.count]) \(text)", .error)
            turn += 1
        } while (try? await Task.sleep(for: .milliseconds(100))) != nil
        console.write("\r\u{1B}[K", .error)
    }
}
