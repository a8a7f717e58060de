import Console

/// The report as text.
extension ReceiptReport {
    func text(_ style: Style) -> String {
        let verdict =
            switch valid {
            case true?: style.good("✓ genuine")
            case false?: style.bad("✗ refused: \(reason)")
            case nil: "not verified"
            }
        var fields: [(String, String?)] = [
            ("receipt", kind.map(Self.name)),
            ("environment", environment),
            ("bundle id", bundleId), ("version", applicationVersion),
            (kind == .transaction ? "purchased" : kind == .jws ? "signed" : "made", creationDate),
            ("first version", originalApplicationVersion), ("first got", originalPurchaseDate),
            ("expires", expirationDate),
        ]
        if let detail { fields.insert(("why", detail), at: 0) }
        let blocks = [verdict, Table.fields(fields, style), purchases(style)]
        return blocks.filter { !$0.isEmpty }.joined(separator: "\n")
    }

    private static func name(_ kind: ReceiptInput.Kind) -> String {
        switch kind {
        case .app: "app receipt"
        case .transaction: "transaction receipt of iOS 6"
        case .jws: "signed payload (JWS)"
        }
    }

    private func purchases(_ style: Style) -> String {
        if let payload { return "\n" + payload.text }
        guard kind != nil, bundleId != nil else { return "" }
        guard !inApp.isEmpty else { return "\nNo purchases." }
        let rows = inApp.map { purchase in
            [
                purchase["transaction_id"] ?? "", purchase["product_id"] ?? "", purchase["quantity"] ?? "",
                Self.date(purchase["purchase_date"]),
                Self.date(purchase["expires_date_formatted"] ?? purchase["expires_date"]),
                purchase.filter { Int($0.key) != nil }.sorted { $0.key < $1.key }
                    .map { "\($0.key)=\($0.value)" }.joined(separator: " "),
            ]
        }
        let heading = ["transaction", "product", "quantity", "purchased", "expires", "other attributes"]
        return "\n" + Table(heading: heading, rows: rows).text(style)
    }

    private static func date(_ text: String?) -> String {
        text?.replacing(" Etc/GMT", with: "Z").replacing(" ", with: "T") ?? ""
    }
}
