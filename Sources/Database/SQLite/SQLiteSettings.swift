/// What tests set differently from use.
struct SQLiteSettings: Sendable {
    /// Connections that read at the same time as the writer writes.
    var readers = 4
    /// The file's greatest size in pages of 4096 bytes; nil for no limit but the disk's.
    var maximumPages: Int?
    /// The most transactions that share one flush to disk.
    var largestBatch = 256
    /// A batch of fewer lets those who would bring more go first.
    var smallBatch = 12
    /// How long a batch goes on taking in transactions that arrive meanwhile.
    var longestBatch = Duration.milliseconds(10)
    /// Pages in the write-ahead log before they are moved into the file. A page that was written many times is moved
    /// once, so a longer log is less work, the more so in a large file whose pages lie apart; 192 MiB.
    var checkpointPages = 49_152
    /// The most that the writer moves itself between two batches, while everybody waits: 4 MiB.
    var standstillPages = 1_024
    /// Pages in the log above which the writer waits until they are in the file: 288 MiB.
    var longestLog = 73_728
    /// The writer's page cache in KiB.
    var writerCache = 32_768
    /// Each reader's page cache in KiB.
    var readerCache = 12_288
}
