// The two reasons for which the document of an open link cannot be shown.

/** The document could not be read: the query failed (`cause`), or the link was closed meanwhile. */
export class DocumentNotReadError extends Error {}

/** The document does not match the hash of its link: somebody changed it after it was shared. */
export class AlteredDocumentError extends Error {}
