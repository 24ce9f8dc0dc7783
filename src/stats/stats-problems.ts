// The details of the problems that only statistics have. The OpenAPI document shows them too.

export const notAcceptableDetail =
  'Statistics are available as application/json or text/csv: use Accept or ?format=.'
export const unavailableDetail =
  'The statistics cannot be computed at the moment. Try again in a moment.'
