/// What went wrong with the node's file of apps and rooms: a sentence for whoever runs the node.
package struct StoreError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Kind: Hashable, Sendable {
        /// The folder or the file cannot be made, opened or locked.
        case unavailable
        /// Another process has the folder.
        case inUse
        /// It is no file of Parlor's, or it is damaged.
        case damaged
        /// A later version of Parlor wrote it.
        case newer
        /// One statement failed: the disk is full, for example.
        case failed
    }

    package var kind: Kind
    package var message: String

    package init(_ kind: Kind, _ message: String) {
        self.kind = kind
        self.message = message
    }

    package var description: String { message }
}
