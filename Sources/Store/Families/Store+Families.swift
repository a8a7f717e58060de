import Database
import StoreWire

/// Family Sharing: families of accounts, and their shared purchases.
extension Store {
    /// Creates a family.
    /// - Returns: the family with its organizer alone.
    /// - Throws: ``StoreError`` `wrong_state` when the account is in a family; ``DatabaseError``.
    public func createFamily(of organizer: Account) async throws -> Family {
        let now = clock.milliseconds
        let family = try await database.write { connection in
            guard try Families.add(organizer.accountID, to: organizer.accountID, at: now, connection) else {
                throw Self.isInFamily(organizer)
            }
            return try Self.found(organizer, connection)
        }
        changed(.accounts)
        return family
    }

    /// Adds an account to a family. The account gets the other members' current shared purchases, and they get its own.
    /// - Parameter member: the organizer, or another member of the family.
    /// - Returns: the family afterwards.
    /// - Throws: ``StoreError`` `not_found` when `member` is in no family; `wrong_state` when the account is in one or
    ///   the family is full; ``DatabaseError``.
    public func addToFamily(of member: Account, _ account: Account) async throws -> Family {
        try await settle(family(of: member))
        try await settleSubscriptions(of: account.accountID)
        let (now, recorder, catalog) = (clock.milliseconds, recorder, catalog.value)
        let family = try await database.write { connection in
            let before = try Self.found(member, connection)
            guard before.members.count <= Family.mostOthers else {
                throw StoreError(
                    .wrongState, "The family is full: an organizer and \(Family.mostOthers) other members.")
            }
            guard try Families.add(account.accountID, to: before.organizerID, at: now, connection) else {
                throw Self.isInFamily(account)
            }
            let after = try Self.found(member, connection)
            for each in after.members {
                try FamilyShares.complete(
                    from: each.accountID, to: each.accountID == account.accountID ? nil : account.accountID, at: now,
                    recorder, connection, isShareable: catalog.isShareable)
            }
            return after
        }
        changed(.accounts)
        changed(.transactions)
        accountNews.record(family.members.map(\.accountID))
        return family
    }

    /// Removes an account from its family. The account loses the others' shared purchases, and they lose its own.
    /// - Returns: the family afterwards.
    /// - Throws: ``StoreError`` `not_found` when the account is in no family; `wrong_state` for the organizer;
    ///   ``DatabaseError``.
    public func removeFromFamily(_ account: Account) async throws -> Family {
        try await settle(family(of: account))
        let (now, recorder) = (clock.milliseconds, recorder)
        let family = try await database.write { connection in
            let before = try Self.found(account, connection)
            guard before.organizerID != account.accountID else {
                throw StoreError(.wrongState, "The organizer cannot leave the family. Delete the family instead.")
            }
            try FamilyShares.end(with: account.accountID, isLeaving: true, at: now, recorder, connection)
            try Families.remove(account.accountID, connection)
            var after = before
            after.members.removeAll { $0.accountID == account.accountID }
            return after
        }
        changed(.accounts)
        changed(.transactions)
        accountNews.record([account.accountID] + family.members.map(\.accountID))
        return family
    }

    /// Deletes a family. Nobody has the purchases of the others any longer.
    /// - Parameter member: the organizer, or another member of the family.
    /// - Throws: ``StoreError`` `not_found` when the account is in no family; ``DatabaseError``.
    public func deleteFamily(of member: Account) async throws {
        try await settle(family(of: member))
        let (now, recorder) = (clock.milliseconds, recorder)
        let family = try await database.write { connection in
            let family = try Self.found(member, connection)
            for each in family.members {
                try FamilyShares.end(with: each.accountID, isLeaving: true, at: now, recorder, connection)
                try Families.remove(each.accountID, connection)
            }
            return family
        }
        changed(.accounts)
        changed(.transactions)
        accountNews.record(family.members.map(\.accountID))
    }

    /// Turns the sharing of a member's purchases on or off. When it is turned off, the others lose the
    /// member's purchases; when it is turned on, they get the current ones.
    /// - Returns: the family afterwards. Nothing changes when sharing has that state already.
    /// - Throws: ``StoreError`` `not_found` when the account is in no family; ``DatabaseError``.
    public func setSharing(_ isOn: Bool, of member: Account) async throws -> Family {
        try await settle(family(of: member))
        let (now, recorder, catalog) = (clock.milliseconds, recorder, catalog.value)
        let family = try await database.write { connection in
            _ = try Self.found(member, connection)
            try Families.setSharing(isOn, of: member.accountID, connection)
            if isOn {
                try FamilyShares.complete(
                    from: member.accountID, at: now, recorder, connection, isShareable: catalog.isShareable)
            } else {
                try FamilyShares.end(with: member.accountID, isLeaving: false, at: now, recorder, connection)
            }
            return try Self.found(member, connection)
        }
        changed(.accounts)
        changed(.transactions)
        accountNews.record(family.members.map(\.accountID))
        return family
    }

    /// Returns the family of an account.
    /// - Throws: ``StoreError`` `not_found` when the account is in no family; ``DatabaseError``.
    public func family(of member: Account) async throws -> Family {
        try await database.read { try Self.found(member, $0) }
    }

    /// Returns the family of an account; nil when it is in none.
    /// - Throws: ``DatabaseError``.
    public func familyIfAny(of member: Account) async throws -> Family? {
        try await database.read { try Families.find(of: member.accountID, $0) }
    }

    /// Returns families in the order of their organizers' identifiers, at most ``mostFamilies``, and whether more
    /// follow.
    /// - Parameter after: the organizer of the last family of the page before; nil for the first page.
    /// - Throws: ``DatabaseError``.
    public func families(
        after: AccountID? = nil, limit: Int = mostFamilies
    ) async throws -> (families: [Family], hasMore: Bool) {
        let limit = min(max(limit, 1), Self.mostFamilies)
        return try await database.read { connection in
            let organizers = try Families.organizers(after: after, limit: limit + 1, connection)
            let families = try organizers.prefix(limit).compactMap { try Families.find(of: $0, connection) }
            return (families, organizers.count > limit)
        }
    }

    /// The most families of one request.
    public static let mostFamilies = 200

    private static func found(_ member: Account, _ connection: Connection) throws -> Family {
        guard let family = try Families.find(of: member.accountID, connection) else {
            throw StoreError(.notFound, "The account \(member.email) is in no family.")
        }
        return family
    }

    private static func isInFamily(_ account: Account) -> StoreError {
        StoreError(.wrongState, "The account \(account.email) is in a family already.")
    }

    /// Settles the due subscriptions of all members, so that the family shares only current ones.
    private func settle(_ family: Family) async throws {
        for member in family.members { try await settleSubscriptions(of: member.accountID) }
    }
}

extension Catalog {
    /// Whether a family can share a product.
    func isShareable(_ bundleID: BundleID, _ productID: ProductID) -> Bool {
        product(productID, of: bundleID)?.isShareable ?? false
    }
}
