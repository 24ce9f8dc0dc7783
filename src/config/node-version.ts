// The oldest version of Node that can run the service.

/** Older versions do not set `import.meta.main` in TypeScript files: programs would end at once. */
const minNode = { major: 24, minor: 3 }

export function findNodeProblem(version: string): string | null {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major > minNode.major || (major === minNode.major && minor >= minNode.minor)) return null
  return (
    `This is Node ${version}, but Node ${minNode.major}.${minNode.minor} is required: ` +
    'run the `make` targets, which install it.'
  )
}
