// The filters with which the dashboard opens, and the periods that its buttons offer.

export const presets = /** @type {const} */ (['month', 'year', '12m', 'all'])
/** The last twelve months, the current one included. */
export const defaultPreset = '12m'
/** Quotes count on the day of their issue. */
export const defaultDate = 'issued'
