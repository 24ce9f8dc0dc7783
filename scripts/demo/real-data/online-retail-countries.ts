// Country names of the Online Retail data.

/**
 * The ISO 3166-1 alpha-2 code of each of the 38 country names in the Online Retail data. It is
 * empty for the two that name no country.
 */
export const countryCodes: ReadonlyMap<string, string> = new Map(
  Object.entries({
    Australia: 'AU',
    Austria: 'AT',
    Bahrain: 'BH',
    Belgium: 'BE',
    Brazil: 'BR',
    Canada: 'CA',
    'Channel Islands': 'JE',
    Cyprus: 'CY',
    'Czech Republic': 'CZ',
    Denmark: 'DK',
    EIRE: 'IE',
    'European Community': '',
    Finland: 'FI',
    France: 'FR',
    Germany: 'DE',
    Greece: 'GR',
    'Hong Kong': 'HK',
    Iceland: 'IS',
    Israel: 'IL',
    Italy: 'IT',
    Japan: 'JP',
    Lebanon: 'LB',
    Lithuania: 'LT',
    Malta: 'MT',
    Netherlands: 'NL',
    Norway: 'NO',
    Poland: 'PL',
    Portugal: 'PT',
    RSA: 'ZA',
    'Saudi Arabia': 'SA',
    Singapore: 'SG',
    Spain: 'ES',
    Sweden: 'SE',
    Switzerland: 'CH',
    'United Arab Emirates': 'AE',
    'United Kingdom': 'GB',
    Unspecified: '',
    USA: 'US',
  }),
)
