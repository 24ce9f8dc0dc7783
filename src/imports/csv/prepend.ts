// Puts the part of a file that has been read already before the rest of the file.

/** Yields `first` unless it is empty, and then the others. */
export async function* prepend<Part extends { length: number }>(
  first: Part,
  others: AsyncIterable<Part>,
): AsyncGenerator<Part> {
  if (first.length > 0) yield first
  yield* others
}
