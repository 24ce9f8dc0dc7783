// The error for a file that cannot be imported.

/** The message says why, on which line, and what to do. Nothing was imported. */
export class InvalidFileError extends Error {}
