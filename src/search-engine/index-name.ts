// The names of an index and of its registration. Both end with the version of the index, so the
// programs of two releases each find an index of their own.

/**
 * The version of the settings of the index and of how its documents are made. Must be increased
 * with every change of either: `test/indexing/index-version.test.ts` notices a change.
 */
export const indexVersion = 1

const versionEnding = /-v(\d+)$/

/** Returns the name with the version at its end. A name that has one already stays as it is. */
export function nameWithVersion(name: string, version: number = indexVersion): string {
  return versionEnding.test(name) ? name : `${name}-v${version}`
}

/** Returns the configured name, for people: "main" for "main-v1". */
export function nameWithoutVersion(name: string): string {
  return name.replace(versionEnding, '')
}

/** Returns the version at the end of a name; 0 if it has none. */
export function readVersion(name: string): number {
  return Number(versionEnding.exec(name)?.[1] ?? 0)
}
