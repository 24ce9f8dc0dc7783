// What is wrong with a file as a whole: its encoding, its form, its header. Bad rows are told apart in problems.ts.

/** The file cannot be imported; the message says why, on which line, and what to do. Nothing was imported. */
export class BadFile extends Error {}
