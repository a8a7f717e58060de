import Database
import HTTPSupport
import HTTPTypes
import StoreWire

/// Refuses requests for what only another process of the store has, and names that process: 421 `other_process` with
/// the field `Cornerstore-Process`.
///
/// Payment sheets, pages of visits, bytes of uploads and feeds are at one process. A proxy in front of the processes
/// sends the requests for sheets and visits there by their identifiers (``ProcessID``).
public struct OtherProcess: Sendable {
    /// The number of this process.
    let node: Int
    private let others: @Sendable () -> [ProcessFacts]

    /// Knows the processes that share the store.
    /// - Parameter membership: nil for a store of one process, whose requests are never refused.
    public init(_ membership: Membership?) {
        self.init(node: membership?.node ?? 0) { membership?.others ?? [] }
    }

    init(node: Int, others: @escaping @Sendable () -> [ProcessFacts]) {
        self.node = node
        self.others = others
    }

    /// Checks that no other process has the sheet or the visit with an identifier.
    /// - Throws: ``HTTPProblem`` 421.
    func check(id: String) throws {
        guard let made = ProcessID.node(in: id), made != node else { return }
        try check("The page with this address is", tellsAddress: false) { $0.node == made }
    }

    /// Checks that no other process has the folder of uploads with an identifier.
    /// - Throws: ``HTTPProblem`` 421.
    func check(place: String) throws {
        try check("The upload's bytes are", tellsAddress: true) { $0.place == place }
    }

    /// Checks that no other process builds the feeds.
    /// - Parameter tellsAddress: whether the client is the operator, who may know the address of the control port.
    /// - Throws: ``HTTPProblem`` 421.
    func checkFeeds(tellsAddress: Bool) throws {
        try check("The feeds are", tellsAddress: tellsAddress) { $0.buildsFeeds }
    }

    private func check(
        _ subject: String, tellsAddress: Bool, _ isOther: (ProcessFacts) -> Bool
    ) throws {
        guard let other = others().first(where: isOther) else { return }
        let name = ProcessID.name(ofNode: other.node)
        let place = tellsAddress ? " (\(Self.place(of: other)))" : ""
        let code = WireError.Code.otherProcess
        var problem = HTTPProblem(
            HTTPProblem.status(of: code), code: code.rawValue,
            message: "\(subject) at the process \(name) of this store\(place). Send the request there.")
        problem.headers[.cornerstoreProcess] = name
        throw problem
    }

    /// The process for the operator: its number and machine, and the address of its control port if that leads there
    /// from other machines. A server that listens on all addresses shows a loopback one.
    private static func place(of other: ProcessFacts) -> String {
        let isLoopback = { (address: String) in
            ["http://127.", "http://localhost:", "http://[::1]:"].contains { address.hasPrefix($0) }
        }
        guard let address = other.address, !isLoopback(address) else { return other.name }
        return "\(other.name), \(address)"
    }
}

extension HTTPField.Name {
    /// The field that names the process of a store that can answer: its node number in two hexadecimal digits.
    static let cornerstoreProcess = HTTPField.Name("Cornerstore-Process") ?? .server
}
