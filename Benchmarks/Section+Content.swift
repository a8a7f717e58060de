extension Section {
    /// One large download over loopback from the store and from nginx to the same client, and 64 at once.
    static let content = Section(name: "content") { setting in
        try await ContentStore.with(bytes: setting.contentMebibytes << 20) { content in
            let found = try await content.offer.measured(setting, in: content.data.appending(path: "nginx"))
            return [
                .contentDownloadOverNginx(found.overNginx), .contentServerMebibytes(found.serverMebibytes),
                .contentClientMebibytes(found.clientMebibytes), .contentSlowestOverMedian(found.slowestOverMedian),
            ]
        }
    }
}
