/// The table of downloads with evidence of purchases that nobody had redeemed, counted for each user.
enum EvidenceDownloadsSchema {
    static let statements = [
        """
        CREATE TABLE evidence_downloads (
            redemption_key TEXT NOT NULL,
            user_id TEXT NOT NULL,
            downloads BIGINT NOT NULL CHECK (downloads > 0),
            first_at BIGINT NOT NULL,
            PRIMARY KEY (redemption_key, user_id)
        ) WITHOUT ROWID
        """
    ]
}
