import ControlWire
import HTTPSupport
import Hummingbird
import Store
import StoreWire

/// The routes for families.
extension ControlController {
    func addFamilyRoutes(to router: Router<StoreRequestContext>) {
        on(router, .families(.sandbox)) { store, request, _ in
            let page = try await store.families(
                after: request.query(.after).map { AccountID($0) },
                limit: try request.limit(most: Store.mostFamilies, usual: 50))
            var rows: [ControlAPI.Family] = []
            for family in page.families { rows.append(try await Self.described(family, at: store)) }
            return try .json(ControlAPI.Page(rows: rows, next: page.hasMore ? rows.last?.organizerId : nil))
        }
        on(router, .createFamily(.sandbox)) { store, request, context in
            let new = try await request.decodeJSON(ControlAPI.NewFamilyMember.self, upTo: Self.bodyLimit)
            let account = try await account(new.account, at: store)
            let family = try await store.createFamily(of: account)
            context.note?.say(subject: account.email)
            return try .json(try await Self.described(family, at: store), status: .created)
        }
        on(router, .deleteFamily(.sandbox, email: "")) { store, _, context in
            try await store.deleteFamily(of: try await account(in: context, at: store))
            return Response(status: .noContent)
        }
        on(router, .addToFamily(.sandbox, email: "")) { store, request, context in
            let new = try await request.decodeJSON(ControlAPI.NewFamilyMember.self, upTo: Self.bodyLimit)
            let added = try await account(new.account, at: store)
            let family = try await store.addToFamily(of: try await account(in: context, at: store), added)
            context.note?.say(after: "\(added.email) joins")
            return try .json(try await Self.described(family, at: store))
        }
        on(router, .family(.sandbox, email: "")) { store, _, context in
            let family = try await store.family(of: try await account(in: context, at: store))
            return try .json(try await Self.described(family, at: store))
        }
        on(router, .changeFamilyMember(.sandbox, email: "")) { store, request, context in
            let change = try await request.decodeJSON(ControlAPI.FamilyMemberChange.self, upTo: Self.bodyLimit)
            let family = try await store.setSharing(change.shares, of: try await account(in: context, at: store))
            context.note?.say(after: change.shares ? "shares" : "does not share")
            return try .json(try await Self.described(family, at: store))
        }
        on(router, .leaveFamily(.sandbox, email: "")) { store, _, context in
            let family = try await store.removeFromFamily(try await account(in: context, at: store))
            return try .json(try await Self.described(family, at: store))
        }
    }

    /// Describes the family of an account; nil when it is in none.
    func described(_ family: Family?, at store: Store) async throws -> ControlAPI.Family? {
        if let family { try await Self.described(family, at: store) } else { nil }
    }

    private static func described(_ family: Family, at store: Store) async throws -> ControlAPI.Family {
        let addresses = try await store.accounts.addresses(of: family.members.map(\.accountID))
        return ControlAPI.Family(
            organizerId: family.organizerID.rawValue,
            members: family.members.map { member in
                ControlAPI.FamilyMember(
                    accountId: member.accountID.rawValue, account: addresses[member.accountID], shares: member.shares,
                    joinedDate: ControlAPI.text(member.joinedAt))
            })
    }
}
