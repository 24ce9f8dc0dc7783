// Changes values of the service for one test file, which may share its process with other files.
// A waiting time that tests change is an object such as `{ ms: 300 }` in the module that owns it.

/** Sets these properties of an object. They have their values of before when the test ends. */
export function replaceUntilEnd<Values extends object>(
  t: { teardown(fn: () => unknown): void },
  object: Values,
  values: Partial<Values>,
): void {
  const before = { ...object }
  Object.assign(object, values)
  t.teardown(() => Object.assign(object, before))
}
