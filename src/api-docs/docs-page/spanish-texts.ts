// The short texts of the OpenAPI document in Spanish, for /docs: parameters, responses and fields.
import { maxTotal } from '../../search-engine/result-limits.ts'

/** The Spanish texts by the English ones. A test names those that are missing or unused. */
export const spanishTexts: Record<string, string> = {
  ['The text typed so far, at most 200 code points and 512 bytes of UTF-8. If empty, the ' +
    'response lists all products, the most quoted in the last 12 months first']:
    'El texto escrito hasta ahora, como mucho 200 puntos de código y 512 bytes de UTF-8. Si ' +
    'está vacío, la respuesta lista todos los productos, primero los más presupuestados de los ' +
    'últimos 12 meses',
  'The maximum number of hits to return': 'El número máximo de resultados que devolver',
  'The number of hits to skip': 'El número de resultados que saltar',
  'Return products of this category only': 'Solo productos de esta categoría',
  'Return products of this brand only': 'Solo productos de esta marca',
  ['Comma-separated list of category and brand. The response counts the products found by ' +
    'each, for the 100 most frequent values']:
    'Lista separada por comas de category y brand. La respuesta cuenta todos los productos ' +
    'encontrados por cada una, para los 100 valores más frecuentes',
  ['An exact SKU, repeated for several: `sku=A&sku=B`. The response has the product of each in ' +
    '`bySku` and no hits. Cannot be combined with other parameters']:
    'Un SKU exacto, repetido para varios: `sku=A&sku=B`. La respuesta tiene el producto de ' +
    'cada uno en `bySku` y ningún resultado. No se combina con otros parámetros',
  'The matching products, best first': 'Los productos encontrados, el mejor primero',
  'A hit despite a typo': 'Un resultado a pesar de una errata',
  'A response from PostgreSQL while the search engine is unavailable':
    'Una respuesta de PostgreSQL mientras el motor de búsqueda no está disponible',
  'Exact SKUs, of which one is unknown': 'SKU exactos, uno de ellos desconocido',
  'Invalid parameter (`invalid_parameter`)': 'Parámetro no válido (`invalid_parameter`)',
  'Invalid parameter': 'Parámetro no válido',
  'Not authenticated (`unauthenticated`)': 'Sin autenticar (`unauthenticated`)',
  'Not authenticated': 'Sin autenticar',
  'Not allowed with this key (`insufficient_scope`)':
    'No permitido con esta clave (`insufficient_scope`)',
  'Not allowed with this key': 'No permitido con esta clave',
  'Not a host of this service (`misdirected_request`)':
    'No es un host de este servicio (`misdirected_request`)',
  'Not a host of this service': 'No es un host de este servicio',
  'Too many requests (`rate_limited`)': 'Demasiadas peticiones (`rate_limited`)',
  'Too many requests': 'Demasiadas peticiones',
  'Internal error (`internal_error`)': 'Error interno (`internal_error`)',
  'Internal error': 'Error interno',
  'Temporarily unavailable (`unavailable`)': 'No disponible por el momento (`unavailable`)',
  'Temporarily unavailable': 'No disponible por el momento',
  'Method not allowed': 'Método no permitido',
  'First day, YYYY-MM-DD; default: the day of the first quote':
    'Primer día, YYYY-MM-DD; por defecto: el del primer presupuesto',
  'Last day, YYYY-MM-DD; default: the day of the last quote':
    'Último día, YYYY-MM-DD; por defecto: el del último presupuesto',
  'issued: all quotes on their issue date; accepted: accepted quotes on their decision date':
    'issued: todos los presupuestos en su fecha de emisión; accepted: los aceptados en su ' +
    'fecha de decisión',
  'Only quotes of this country: ISO 3166-1 alpha-2 (GB, not UK), or unknown':
    'Solo presupuestos de este país: ISO 3166-1 alfa-2 (GB, no UK), o unknown',
  'Only quotes in this currency: ISO 4217. Base amounts stay in the base currency':
    'Solo presupuestos en esta moneda: ISO 4217. Los importes base siguen en la moneda base',
  ['Adds the same statistics for the period directly before, or for a year before. Whole ' +
    'months are compared with whole months, other periods with as many days, and a running ' +
    'period only up to today. `comparison.period` has the days']:
    'Añade las mismas cifras del periodo inmediatamente anterior o de un año antes. Los meses ' +
    'enteros se comparan con meses enteros, los demás periodos con otros tantos días, y un ' +
    'periodo en curso solo hasta hoy. `comparison.period` dice los días',
  ['`day` adds `byDay`: every day of a period of at most 92 days, with the values of a ' +
    'month. It needs `from` and `to`. `customer` adds `byCustomer` and `product` adds ' +
    '`byProduct`: the 50 with the highest revenue, and all others as one row (`rest`). These ' +
    'two need a key that has the scope `stats:detail` besides `stats:read`, because names of ' +
    'customers are personal data. `compare` does not change them']:
    '`day` añade `byDay`: todos los días de un periodo de 92 días como mucho, con los valores ' +
    'de un mes. Necesita `from` y `to`. `customer` añade `byCustomer` y `product` añade ' +
    '`byProduct`: los 50 de mayores ingresos, y todos los demás en una fila (`rest`). Estos ' +
    'dos necesitan una clave que tenga el permiso `stats:detail` además de `stats:read`, ' +
    'porque los nombres de clientes son datos personales. `compare` no los cambia',
  'Takes precedence over the Accept header; default: json':
    'Prevalece sobre la cabecera Accept; por defecto: json',
  'For CSV only: es has semicolons and decimal commas':
    'Solo para CSV: es usa punto y coma, y coma decimal',
  'The ETag of an earlier response. The status is 304 if nothing has changed but `asOf`.':
    'El ETag de una respuesta anterior. El estado es 304 si solo ha cambiado `asOf`.',
  'The statistics': 'Las cifras',
  'Two months': 'Dos meses',
  'By day, shortened to one': 'Por día, reducido a uno',
  'By customer, shortened to two rows': 'Por cliente, reducido a dos filas',
  'By product, shortened to two rows': 'Por producto, reducido a dos filas',
  'The same statistics in long form': 'Las mismas cifras en forma larga',
  'Nothing but `asOf` has changed since the response with that ETag':
    'Desde la respuesta con ese ETag solo ha cambiado `asOf`',
  'Not acceptable (`not_acceptable`)': 'Formato no disponible (`not_acceptable`)',
  'Not acceptable': 'Formato no disponible',
  'The 43 characters of the link': 'Los 43 caracteres del enlace',
  'Overrides the Accept header. Default: html':
    'Prevalece sobre la cabecera Accept. Por defecto: html',
  ['Language of the page and the PDF. Capitals and regions (`de-AT`) are accepted, and an ' +
    'unknown language is ignored. Default: the language of the quote']:
    'Idioma de la página y del PDF. Se aceptan mayúsculas y regiones (`de-AT`), y un idioma ' +
    'desconocido se ignora. Por defecto: el idioma del presupuesto',
  'The quote': 'El presupuesto',
  'A quote with one line': 'Un presupuesto con una línea',
  'Not found (`not_found`)': 'No encontrado (`not_found`)',
  'Not found': 'No encontrado',
  'The link has expired (`link_expired`); The link was revoked (`link_revoked`)':
    'El enlace ha caducado (`link_expired`); el enlace se ha retirado (`link_revoked`)',
  'The link has expired': 'El enlace ha caducado',
  'The link was revoked': 'El enlace se ha retirado',
  ['Identifies this request in the log of the service. Send your own (at most 64 of A–Z, ' +
    'a–z, 0–9, ".", "_", "-") to trace a request.']:
    'Identifica esta petición en el registro del servicio. Envía el tuyo (como mucho 64 de ' +
    'A–Z, a–z, 0–9, ".", "_", "-") para seguir una petición.',
  'Whether the response may be cached': 'Si la respuesta se puede guardar en caché',
  ['Identifies the statistics in this format, in every encoding and whatever `asOf` is. Send ' +
    'it in If-None-Match to get 304 while they are unchanged.']:
    'Identifica las cifras en este formato, en toda codificación y sea cual sea `asOf`. ' +
    'Envíalo en If-None-Match para recibir 304 mientras no cambien.',
  'Seconds since the statistics were last known to be current':
    'Segundos desde que consta que las cifras estaban al día',
  ['RFC 9211: `hit`, `fwd=miss` (computed for this response), or `fwd=stale` (older than two ' +
    'seconds, because computing failed or takes long)']:
    'RFC 9211: `hit`, `fwd=miss` (calculado para esta respuesta) o `fwd=stale` (de hace más ' +
    'de dos segundos, porque el cálculo falló o tarda)',
  'The request headers that select the representation':
    'Las cabeceras de la petición que eligen la representación',
  'The file name for saving the response': 'El nombre de archivo para guardar la respuesta',
  'Requests allowed per window; absent for keys without a limit':
    'Peticiones permitidas por ventana; falta en claves sin límite',
  'Requests left in the current window': 'Peticiones que quedan en la ventana actual',
  'Seconds until the current window ends': 'Segundos hasta el final de la ventana actual',
  'Seconds to wait before the next attempt': 'Segundos que esperar antes del intento siguiente',
  'How to authenticate': 'Cómo autenticarse',
  'An exact amount': 'Un importe exacto',
  'Decimal text with at least the minor digits of the currency':
    'Texto decimal con al menos los decimales de la moneda',
  'ISO 4217': 'ISO 4217',
  'RFC 9457 problem': 'Problema de RFC 9457',
  'Also in the log of the service': 'También está en el registro del servicio',
  'The normalised q: trimmed, NFC': 'El q normalizado: sin espacios en los extremos, NFC',
  ['The number of products found, which may include some that lack a frequent word. Exact up ' +
    `to ${maxTotal} if a product has all the words. Otherwise it counts only the similar ` +
    'products that were looked up']:
    'El número de productos encontrados, entre los que puede haber algunos sin una palabra ' +
    `frecuente. Exacto hasta ${maxTotal} si un producto tiene todas las palabras. Si no, cuenta ` +
    'solo los productos parecidos que se buscaron',
  ['Counts over all products found, for the requested facets. If a facet has more than ' +
    '100 values, the counts of rare ones may be too low']:
    'Recuentos de todos los productos encontrados, para las facetas pedidas. Si una faceta ' +
    'tiene más de 100 valores, los de los poco frecuentes pueden ser demasiado bajos',
  'The number of products by value, in no defined order':
    'El número de productos por valor, sin un orden definido',
  ['Only if `sku` is given: the product of each SKU, in that order. Null: no active product ' +
    'has exactly this SKU']:
    'Solo si se da `sku`: el producto de cada SKU, en ese orden. Null: ningún producto activo ' +
    'tiene exactamente ese SKU',
  'The search engine (index) or PostgreSQL (database)':
    'El motor de búsqueda (index) o PostgreSQL (database)',
  ['True if PostgreSQL answered a search (database), or if products with only some of the words ' +
    'may be missing (index). The search engine is slow or unavailable, or has rejected the ' +
    'search. Or the service is too busy to look for products with only some of the words, or ' +
    'has an internal error. A look-up by `sku` is never degraded']:
    'True si PostgreSQL contestó una búsqueda (database), o si pueden faltar productos que solo ' +
    'tienen algunas de las palabras (index). El motor de búsqueda está lento o no disponible, o ' +
    'ha rechazado la búsqueda. O el servicio está demasiado ocupado para buscar productos que ' +
    'solo tienen algunas de las palabras, o tiene un error interno. En una consulta por `sku` ' +
    'siempre es false',
  ['The index contains every change committed up to this instant. Null: it is not known yet, ' +
    'or `sku` is given']:
    'El índice contiene todo cambio confirmado hasta este instante. Null: aún no se conoce, o ' +
    'se da `sku`',
  'True if facets are empty because PostgreSQL answered and more products match than it counts':
    'True si las facetas están vacías porque contestó PostgreSQL y hay más productos de los ' +
    'que cuenta',
  'Identifies the product for as long as it exists': 'Identifica el producto mientras exista',
  'The product code as the company writes it': 'El código del producto como lo escribe la empresa',
  'The name of the product': 'El nombre del producto',
  'A longer description of the product': 'Una descripción más larga del producto',
  'The category of the product': 'La categoría del producto',
  'The brand of the product': 'La marca del producto',
  'Unit code of UN/ECE Recommendation 20': 'Código de unidad de la recomendación 20 de UN/ECE',
  'Harmonised System code': 'Código del Sistema Armonizado',
  'ISO 3166-1 alpha-2': 'ISO 3166-1 alfa-2',
  'The parts of each value that match the query':
    'Las partes de cada valor que coinciden con la consulta',
  '[start, length] in UTF-16 code units of the value in this hit':
    '[inicio, longitud] en unidades UTF-16 del valor en este resultado',
  ['The statistics contain every change that was committed before this instant. It is ' +
    'rounded down to the second']:
    'Las cifras contienen todo cambio confirmado antes de este instante, redondeado hacia ' +
    'abajo al segundo',
  'Quotes of every status except superseded': 'Presupuestos de cualquier estado salvo superseded',
  'Numbers of quotes. A sent quote counts as expired when its validity is over':
    'Números de presupuestos. Uno enviado cuenta como caducado cuando acaba su validez',
  ['Net in the base currency. open: sent quotes that are still valid; won: accepted quotes, ' +
    'the same as revenue; lost: rejected and expired quotes']:
    'Neto en la moneda base. open: enviados que siguen siendo válidos; won: aceptados, lo ' +
    'mismo que los ingresos; lost: rechazados y caducados',
  'By number of quotes and by value; null if the denominator is zero':
    'Por número de presupuestos y por valor; null si el denominador es cero',
  'accepted ÷ (sent + accepted + rejected + expired); four decimals':
    'accepted ÷ (sent + accepted + rejected + expired); cuatro decimales',
  'accepted ÷ (accepted + rejected + expired); four decimals':
    'accepted ÷ (accepted + rejected + expired); cuatro decimales',
  'won ÷ (open + won + lost); four decimals': 'won ÷ (open + won + lost); cuatro decimales',
  'won ÷ (won + lost); four decimals': 'won ÷ (won + lost); cuatro decimales',
  'Days from issue to decision; null without such quotes':
    'Días de la emisión a la decisión; null si no hay tales presupuestos',
  'Accepted and rejected quotes with a day of decision':
    'Presupuestos aceptados y rechazados con día de decisión',
  'Rounded half up; one decimal': 'Redondeo de la mitad hacia arriba; un decimal',
  'The middle value, or the mean of the two middle values; at most 1000.0; one decimal':
    'El valor central, o la media de los dos centrales; como mucho 1000.0; un decimal',
  'Net of accepted quotes in the base currency':
    'Neto de los presupuestos aceptados en la moneda base',
  'Net of accepted quotes in their own currency':
    'Neto de los presupuestos aceptados en su propia moneda',
  'Net of accepted quotes without an exchange rate; not part of any base amount':
    'Neto de los presupuestos aceptados sin cambio; no entra en ningún importe base',
  'ISO 3166-1 alpha-2; null for unknown': 'ISO 3166-1 alfa-2; null si se desconoce',
  'YYYY-MM': 'YYYY-MM',
  'Every day of the period, in order. Only with by=day':
    'Todos los días del periodo, en orden. Solo con by=day',
  'Whether the day is not over': 'Si el día no ha terminado',
  'Whether the period covers only a part of the month, or the month is not over':
    'Si el periodo cubre solo una parte del mes, o el mes no ha acabado',
  'Customers with quotes, by revenue and then by id. Only with by=customer':
    'Clientes con presupuestos, por ingresos y luego por id. Solo con by=customer',
  'null for quotes without a customer': 'null para presupuestos sin cliente',
  'As it is now': 'Como es ahora',
  'Accepted quotes without an exchange rate; not part of revenue':
    'Presupuestos aceptados sin cambio; no entran en los ingresos',
  'All other customers together; null if there are none':
    'Todos los demás clientes juntos; null si no hay',
  ['Products in lines of accepted quotes, by revenue and then by SKU. Revenue is the net of ' +
    'the lines, converted and then rounded for each row. Only with by=product']:
    'Productos de las líneas de presupuestos aceptados, por ingresos y luego por SKU. Los ' +
    'ingresos son el neto de las líneas, convertido y luego redondeado por fila. Solo con ' +
    'by=product',
  'null for lines without a SKU': 'null para líneas sin SKU',
  'As written in the lines': 'Como está escrito en las líneas',
  'In the catalogue now; null if it lacks the SKU': 'En el catálogo ahora; null si no tiene el SKU',
  'Lines of accepted quotes': 'Líneas de presupuestos aceptados',
  'Lines of accepted quotes without an exchange rate; not part of revenue':
    'Líneas de presupuestos aceptados sin cambio; no entran en los ingresos',
  'All other products together; null if there are none':
    'Todos los demás productos juntos; null si no hay',
  '(now − before) ÷ before': '(ahora − antes) ÷ antes',
  'null if the denominator is zero; four decimals':
    'null si el denominador es cero; cuatro decimales',
  'YYYY-MM-DD in the time zone of the company': 'YYYY-MM-DD en la zona horaria de la empresa',
  'IANA time zone name': 'Nombre IANA de la zona horaria',
  'The date on which a quote counts': 'La fecha en la que cuenta un presupuesto',
  'A quote behind a link': 'Un presupuesto tras un enlace',
  'As of now. A sent quote past its validity is expired.':
    'El de ahora. Uno enviado cuya validez ha pasado está caducado.',
  'null: the link never expires': 'null: el enlace no caduca nunca',
  'SHA-256 of document in RFC 8785 canonical form, hexadecimal':
    'SHA-256 de document en la forma canónica de RFC 8785, hexadecimal',
  'Counts up when a quote is revised': 'Aumenta cuando se revisa un presupuesto',
  'YYYY-MM-DD in the calendar of the seller': 'YYYY-MM-DD en el calendario del vendedor',
  'Decimal text': 'Texto decimal',
  ['Name of the tax in each language, such as IVA, IGIC or GST. Older links may lack it: ' +
    'then it is IVA in es and VAT in en. Some have only es and en']:
    'Nombre del impuesto en cada idioma, como IVA, IGIC o GST. Puede faltar en enlaces ' +
    'antiguos: entonces es IVA en es y VAT en en. Algunos solo tienen es y en',
  'Legal texts that hold for the whole quote': 'Textos legales que valen para todo el presupuesto',
  'Legal texts that the seller does not have in this language. Missing if none':
    'Textos legales que el vendedor no tiene en este idioma. Falta si no hay ninguno',
  'Legal texts that hold for some lines, such as an exemption. Missing if none':
    'Textos legales que valen para algunas líneas, como una exención. Falta si no hay',
  'Position of a line': 'Posición de una línea',
  'The legal texts in other languages, as far as the seller has them':
    'Los textos legales en otros idiomas, si el vendedor los tiene',
  'Decimal text, below 0 for returns': 'Texto decimal, por debajo de 0 en devoluciones',
  'UN/ECE Recommendation 20': 'Recomendación 20 de UN/ECE',
  'Recargo de equivalencia, per cent': 'Recargo de equivalencia, en tanto por ciento',
  'all products, the most quoted first': 'todos los productos, primero los más presupuestados',
  'a search with a typo, with counts by category':
    'una búsqueda con una errata, con recuentos por categoría',
  'the products with two exact SKUs': 'los productos de dos SKU exactos',
  'all statistics': 'todas las cifras',
  'the same, compared with the previous year': 'lo mismo, comparado con el año anterior',
  'the same as CSV for a spreadsheet': 'lo mismo como CSV para una hoja de cálculo',
}
