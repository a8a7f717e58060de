import ContentDownloads
import Foundation
import StoreKit
import StoreServer
import StoreWire

/// The items of an account, over the device's requests, and their files in a device's folder.
struct ShellLibrary {
    private let session: ShellSession
    /// The account's files on the device.
    let device: DeviceLibrary

    /// Signs in, runs `body`, and signs out.
    /// - Parameter device: the device's folder; nil for the one that `buy` uses for the account.
    /// - Throws: ``CommandError`` when no store answers, when it refuses a request, or the folder is no device.
    static func with<Result>(
        _ account: String?, _ password: PasswordOptions, _ environment: StoreEnvironment, device: String?,
        _ data: DataOptions, _ body: (ShellLibrary) async throws -> Result
    ) async throws -> Result {
        let base = try data.addresses().store(environment)
        let named = try device.map(DevicePlace.usable)
        let customer = try ShellCustomer.named(account, password, environment, in: data.directory)
        let folder = named ?? BuyCommand.deviceFolder(of: customer.email, in: data.directory)
        return try await ShellSession.with(customer, at: base) { session in
            let library: DeviceLibrary
            do {
                library = try DeviceLibrary(
                    device: folder.standardizedFileURL, environment: environment, account: session.account.accountID)
            } catch let error as DeviceError {
                throw CommandError(.failed, "The device cannot be used: \(error.detail).")
            }
            return try await body(ShellLibrary(session: session, device: library))
        }
    }

    /// Buys an item at its present price.
    func buy(_ item: Int64) async throws -> OwnedItem {
        try await session.send(.buyItem, ItemPurchaseMessage(item: item, idempotencyKey: UUID()))
    }

    /// All items of the account.
    func items() async throws -> [OwnedItem] {
        var items: [OwnedItem] = []
        while true {
            let page: LibraryResponse = try await session.send(.library(after: items.last?.transactionID))
            items += page.items
            guard page.hasMore, !page.items.isEmpty else { return items }
        }
    }

    /// The files of the account's items, each once.
    /// - Parameter number: the item, or a song or episode of an owned album or season; nil for all items.
    /// - Throws: ``CommandError`` when the account does not own the item.
    func files(of number: Int64?) async throws -> [ItemFileDescription] {
        let items = try await items()
        var seen: Set<Int64> = []
        let files = items.flatMap { item in
            (item.files ?? []).filter { number == nil || item.item == number || $0.item == number }
        }.filter { seen.insert($0.item).inserted }
        if let number, files.isEmpty {
            throw CommandError(
                .refused,
                items.contains { $0.item == number }
                    ? "The item \(number) has no file."
                    : "The account does not own an item \(number) with a file. See “cornerstore library”.")
        }
        return files
    }

    /// Downloads files, one after the other, and shows the progress.
    /// - Throws: ``CommandError`` with the reason of the first failure. The files before it are complete.
    func download(_ files: [ItemFileDescription]) async throws -> [LibraryFileReport] {
        var reports: [LibraryFileReport] = []
        for file in files {
            if device.state(of: file) != .downloaded || file.sha256 == nil { try await download(file) }
            reports.append(LibraryFileReport(file, device))
        }
        return reports
    }

    private func download(_ file: ItemFileDescription) async throws {
        guard let store = URL(string: session.base) else {
            throw CommandError(.failed, "\(session.base) is not a URL.")
        }
        let title = Style.printable(file.title)
        let display = TransferDisplay(
            "Downloading \(title)", total: file.length, done: device.received(file), console: Console.current)
        defer { display.end() }
        do {
            _ = try await device.download(file, at: store) {
                try await session.send(.itemFile(file.item))
            } progress: { received, length in
                display.note(received, of: length)
            }
        } catch let error as ContentDownloadError {
            throw CommandError(
                .failed, "\(title) was not downloaded: \(error.detail). Run “cornerstore library download” to continue."
            )
        } catch let error as DeviceError {
            throw CommandError(.failed, "\(title) was not downloaded: \(error.detail).")
        } catch is DeviceLibrary.InvalidGrant {
            throw CommandError(
                .failed,
                "\(title) was not downloaded: the store's answer makes no sense. Use the same version of cornerstore as the server."
            )
        }
    }
}
