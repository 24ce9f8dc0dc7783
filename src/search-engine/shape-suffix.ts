// The names of an index and of its registration. Both end with the shape of the index: a hash of
// its settings and of how its documents are made. So the programs of two releases each find an
// index of their own shape.

/** A name ends with this many digits of the shape, which is a hexadecimal hash. */
const shapeDigits = 8
const shapeEnding = new RegExp(`-[0-9a-f]{${shapeDigits}}$`)

/**
 * Returns the name with the shape at its end. If the name ends with it already, returns the name.
 */
export function nameWithShape(name: string, shape: string): string {
  const ending = `-${shape.slice(0, shapeDigits)}`
  return name.endsWith(ending) ? name : `${name}${ending}`
}

/** Returns the configured name, for people: "main" for "main-1a2b3c4d". */
export function nameWithoutShape(name: string): string {
  return name.replace(shapeEnding, '')
}

/** Whether both names begin with the same SEARCH_ENGINE, perhaps with different shapes. */
export function haveSameEngineName(name: string, other: string): boolean {
  return nameWithoutShape(name) === nameWithoutShape(other)
}
