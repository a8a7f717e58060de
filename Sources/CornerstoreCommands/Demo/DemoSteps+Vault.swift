import Foundation

/// The steps with Photo Filters, and the steps that tamper with the vault.
extension DemoSteps {
    private func vault(of sample: DemoSample) -> URL {
        places.path("device/vaults/\(sample.bundleID)/sandbox/purchases.vault")
    }

    func oldCopy(_ balance: Int) async throws {
        teller.begin("An older copy of the vault is restored")
        teller.explain("The credits are in a vault. The player copies its file, feeds a monkey, and restores the copy:")
        let file = vault(of: .monkeyCredits)
        let copy = try Data(contentsOf: file)
        let fed = try await app.run(["--feed"])
        teller.show(fed.all)
        try teller.check("feeding costs a credit", fed.status == 0 && fed.output.contains("\(balance - 1)"), fed.all)
        try copy.write(to: file)
        let result = try await app.run(["--balance"])
        teller.show(result.all)
        try teller.check("the app detects the older copy", result.errors.contains("older copy"), result.all)
        try await balanceStays(balance - 1)
    }

    func buyFilter() async throws {
        teller.begin("Photo Filters sells a non-consumable")
        let picture = places.path("sepia.png")
        let arguments = ["--apply", "sepia", "--out", picture.path]
        let refused = try await photos.run(arguments)
        teller.show(refused.all)
        try teller.check("the app does not apply a filter that was not bought", refused.status == 1, refused.all)
        teller.show("photo-filters --buy sepia")
        let bought = try await photos.run(["--buy", "sepia"])
        teller.show(bought.all)
        try teller.check(
            "the app succeeded", bought.status == 0 && bought.output.contains("is yours"),
            "\(bought.status): \(bought.all)")
        teller.show("photo-filters --apply sepia --out \(picture.lastPathComponent)")
        let applied = try await photos.run(arguments)
        teller.show(applied.all)
        try teller.check("the app wrote a PNG file", applied.status == 0 && isPNG(picture), applied.all)
    }

    func restoreFilter() async throws {
        teller.begin("The customer restores the filter on another device")
        let picture = places.path("sepia-on-the-other.png")
        let arguments = ["--apply", "sepia", "--out", picture.path]
        let before = try await otherPhotos.run(arguments)
        teller.show(before.all)
        try teller.check("the filter is locked on the other device", before.status == 1, before.all)
        let known = try await transactions()
        teller.show("photo-filters --restore")
        let restored = try await otherPhotos.run(["--restore"])
        teller.show(restored.all)
        try teller.check(
            "the filter is restored", restored.status == 0 && restored.output.contains("sepia is yours"),
            "\(restored.status): \(restored.all)")
        let paid = try await transactions().filter { !known.contains($0) && $0.price != "0.00" }
        try teller.check("the restore was free", paid.isEmpty, "\(paid)")
        let after = try await otherPhotos.run(arguments)
        teller.show(after.all)
        let same = (try? Data(contentsOf: picture)) == (try? Data(contentsOf: places.path("sepia.png")))
        try teller.check("the filter produces the same picture", after.status == 0 && isPNG(picture) && same, after.all)
    }

    func editVault() async throws {
        teller.begin("The vault is edited")
        teller.explain("The customer edits the vault of the first device to unlock both filters:")
        let file = vault(of: .photoFilters)
        teller.show("echo 'sepia=yes mono=yes' > purchases.vault")
        try Data("sepia=yes mono=yes\n".utf8).write(to: file)
        let list = try await photos.run(["--list"])
        teller.show(list.all)
        try teller.check("the app detects the change", list.errors.contains("changed from outside"), list.all)
        try teller.check(
            "the app restores the bought filter from the receipt, and nothing else",
            list.output.contains("sepia  yours") && list.output.contains("mono  not bought"), list.all)
        let mono = try await photos.run(["--apply", "mono", "--out", places.path("mono.png").path])
        teller.show(mono.all)
        try teller.check("the app does not apply mono", mono.status == 1 && mono.errors.isEmpty, mono.all)
    }

    private func isPNG(_ file: URL) -> Bool {
        (try? Data(contentsOf: file))?.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) == true
    }
}
