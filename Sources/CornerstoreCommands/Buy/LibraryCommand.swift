import ArgumentParser
import Foundation
import StoreServer
import StoreWire

/// `cornerstore library`: the items that an account owns.
struct LibraryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "library",
        abstract: "List the apps, songs, films, episodes and books that an account owns.",
        discussion: """
            In the sandbox, the default account is the tester that the store created on its first start.

              cornerstore library
              cornerstore library --environment production --account anna@example.com --password-file anna.txt --json
            """)

    @Option(help: ArgumentHelp("The account.", valueName: "email"))
    var account: String?
    @OptionGroup var password: PasswordOptions
    @OptionGroup var environment: EnvironmentOptions
    @OptionGroup var data: DataOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let items = try await ShellLibrary.with(account, password, environment.environment, data) { library in
            try await library.items()
        }
        try Console.current.report(items, json: output.json) { style in
            guard !items.isEmpty else { return "The library is empty. Buy an item: cornerstore buy --item NUMBER" }
            return Table(
                heading: ["number", "kind", "name", "price", "bought", "transaction"],
                rows: items.map { item in
                    [
                        String(item.item), item.kind ?? "", item.name ?? "no longer in the catalog",
                        "\(item.price.decimal) \(item.price.currency)", Moment.text(item.purchaseDate),
                        item.transactionID.description,
                    ]
                }
            ).text(style)
        }
    }
}

/// The items of an account, over the device's requests.
struct ShellLibrary {
    private let base: String
    private let token: String

    /// Signs in, runs `body`, and signs out.
    /// - Throws: ``CommandError`` when no store answers, or when it refuses a request.
    static func with<Result>(
        _ account: String?, _ password: PasswordOptions, _ environment: StoreEnvironment, _ data: DataOptions,
        _ body: (ShellLibrary) async throws -> Result
    ) async throws -> Result {
        let base = try data.addresses().store(environment)
        let customer = try ShellCustomer.named(account, password, environment, in: data.directory)
        let request = SignInRequest(email: customer.email, password: customer.password, deviceID: UUID())
        let signedIn: SignInResponse = try await send(.signIn, base, token: nil, request)
        let library = ShellLibrary(base: base, token: signedIn.token)
        do {
            let result = try await body(library)
            await library.signOut()
            return result
        } catch {
            await library.signOut()
            throw error
        }
    }

    /// Buys an item at its present price.
    func buy(_ item: Int64) async throws -> OwnedItem {
        try await Self.send(.buyItem, base, token: token, ItemPurchaseMessage(item: item, idempotencyKey: UUID()))
    }

    /// All items of the account.
    func items() async throws -> [OwnedItem] {
        var items: [OwnedItem] = []
        while true {
            let page: LibraryResponse = try await Self.send(
                .library(after: items.last?.transactionID), base, token: token, String?.none)
            items += page.items
            guard page.hasMore, !page.items.isEmpty else { return items }
        }
    }

    private func signOut() async {
        _ = try? await PlainHTTP.send(
            StoreRoute.signOut.method.rawValue, base + StoreRoute.signOut.path, body: nil,
            headers: [("Authorization", "Bearer \(token)")], limit: 1 << 20)
    }

    private static func send<Answer: Decodable>(
        _ route: StoreRoute, _ base: String, token: String?, _ body: (some Encodable)?
    ) async throws -> Answer {
        let answer = try await PlainHTTP.send(
            route.method.rawValue, base + route.path, body: try body.map { try JSONEncoder().encode($0) },
            headers: token.map { [("Authorization", "Bearer \($0)")] } ?? [], limit: 16 << 20)
        guard (200..<300).contains(answer.status) else {
            let error = try? JSONDecoder().decode(WireError.self, from: answer.body)
            throw CommandError(
                .refused, error.map { Style.printable($0.message) } ?? "\(base) answered HTTP \(answer.status).")
        }
        guard let decoded = try? JSONDecoder().decode(Answer.self, from: answer.body) else {
            throw CommandError(
                .failed, "Cannot read the store's response. Use the same version of cornerstore as the server.")
        }
        return decoded
    }
}
