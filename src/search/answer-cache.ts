// Answers remembered while the index is unchanged: short prefixes are typed again and again.

export type Memory = {
  /** The text remembered under a key for this state of the index; undefined when there is none. */
  read(key: string, version: string): string | undefined
  remember(key: string, version: string, text: string): void
}

/** Bounded by bytes (two a character, which is what a string may take); the least recently used is forgotten first. */
export function memory(maxBytes: number): Memory {
  const entries = new Map<string, string>()
  let bytes = 0
  let entriesVersion = ''
  const sizeOf = (key: string, text: string) => 2 * (key.length + text.length) + 200

  function forgetOthers(version: string): void {
    if (version === entriesVersion) return
    entries.clear()
    bytes = 0
    entriesVersion = version
  }

  return {
    read(key, version) {
      forgetOthers(version)
      const text = entries.get(key)
      if (text === undefined) return undefined
      entries.delete(key)
      entries.set(key, text)
      return text
    },
    remember(key, version, text) {
      if (version !== entriesVersion || entries.has(key) || sizeOf(key, text) > maxBytes) return
      entries.set(key, text)
      bytes += sizeOf(key, text)
      for (const [oldest, old] of entries) {
        if (bytes <= maxBytes) break
        entries.delete(oldest)
        bytes -= sizeOf(oldest, old)
      }
    },
  }
}
