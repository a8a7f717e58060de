/// Settings that tests change.
struct SQLiteSettings: Sendable {
    /// The number of reader connections.
    var readers = 4
    /// The file's greatest size in pages of 4096 bytes; nil for no limit.
    var maximumPages: Int?
    /// The greatest number of transactions that share one flush to disk.
    var largestBatch = 256
    /// Before the writer flushes a batch smaller than this, it yields the processor once so that more can arrive.
    var smallBatch = 12
    /// How long a batch accepts transactions that arrive while it runs.
    var longestBatch = Duration.milliseconds(10)
    /// The log's length in pages at which checkpoints begin (192 MiB). A page that was written many times is moved
    /// once, so a longer log means less work, most of all in a large file whose changed pages are far apart.
    var checkpointPages = 49_152
    /// The greatest number of pages that the writer moves itself between two batches while all writes wait (4 MiB).
    var standstillPages = 1_024
    /// The log's length in pages above which the writer waits until they are in the file (288 MiB).
    var longestLog = 73_728
    /// The writer's page cache in KiB.
    var writerCache = 32_768
    /// Each reader's page cache in KiB. The rows of a thousand busy accounts among a million fill some 25 MiB.
    var readerCache = 32_768
}
