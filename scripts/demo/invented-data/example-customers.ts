// The customers of the example quotes. They are invented: their tax ids have the format of their
// country, but cannot belong to anybody.

export type ExampleCustomer = {
  name: string
  taxId: string
  address: string
  contact: string
  country: string
}

const purchasing = 'Departamento de compras'
const buying = 'Purchasing department'

export const customers = {
  shop: customer(
    'Comercio de Ejemplo, C.B.',
    'ESE00000001',
    'Calle Ficticia, 14, bajo\n50000 Zaragoza\nEspaña',
    purchasing,
    'ES',
  ),
  toyShop: customer(
    'Juguetería de Ejemplo, C.B.',
    'ESE00000002',
    'Plaza Imaginaria, 3\n28000 Madrid\nEspaña',
    purchasing,
    'ES',
  ),
  grocer: customer(
    'Ultramarinos de Ejemplo, C.B.',
    'ESE00000003',
    'Calle del Ejemplo, 7\n36000 Pontevedra\nEspaña',
    purchasing,
    'ES',
  ),
  builder: customer(
    'Construcciones de Ejemplo, S.L.',
    'ESB00000001',
    'Polígono Industrial Ficticio, nave 12\nCarretera de Ninguna Parte, km 0\n' +
      '46000 Valencia\nEspaña',
    'Departamento de compras y contratación',
    'ES',
  ),
  hotel: customer(
    'Hotel de Ejemplo, S.A.',
    'ESA00000001',
    'Paseo Imaginario, 1\n29000 Málaga\nEspaña',
    purchasing,
    'ES',
  ),
  council: customer(
    'Ayuntamiento de Villaejemplo',
    'ESP0000001X',
    'Plaza Mayor, 1\n10000 Villaejemplo\nEspaña',
    'Servicio de contratación',
    'ES',
  ),
  portugal: customer(
    'Cliente de Exemplo, Lda.',
    'PT000000001',
    'Rua Fictícia, 25\n1000-000 Lisboa\nPortugal',
    'Departamento de compras',
    'PT',
  ),
  france: customer(
    'Client d’exemple SARL',
    'FR00000000001',
    '10 rue Imaginaire\n31000 Toulouse\nFrance',
    'Service des achats',
    'FR',
  ),
  germany: customer(
    'Beispielkunde GmbH',
    'DE000000001',
    'Musterstraße 1\n20000 Hamburg\nDeutschland',
    'Einkauf',
    'DE',
  ),
  italy: customer(
    'Cliente di Esempio S.r.l.',
    'IT00000000001',
    'Via Immaginaria, 8\n20100 Milano\nItalia',
    'Ufficio acquisti',
    'IT',
  ),
  ireland: customer(
    'Example Customer DAC',
    'IE0000001X',
    '1 Example Quay\nDublin\nIreland',
    buying,
    'IE',
  ),
  unitedKingdom: customer(
    'Example Hardware Ltd',
    'GB000000001',
    '2 Example Street\nLeeds\nUnited Kingdom',
    buying,
    'GB',
  ),
  unitedStates: customer(
    'Example Customer, Inc.',
    '00-0000001',
    '100 Example Avenue\nNewark, NJ 00000\nUSA',
    buying,
    'US',
  ),
  mexico: customer(
    'Cliente de Ejemplo, S.A. de C.V.',
    'AAA000000AA0',
    'Avenida Ficticia 100\nVeracruz\nMéxico',
    purchasing,
    'MX',
  ),
  chile: customer(
    'Cliente de Ejemplo SpA',
    '00.000.000-1',
    'Avenida Imaginaria 500\nValparaíso\nChile',
    purchasing,
    'CL',
  ),
  japan: customer(
    'Example Trading K.K.',
    'T0000000000001',
    '1-1-1 Example-cho\nYokohama\nJapan',
    buying,
    'JP',
  ),
  kuwait: customer(
    'Example General Trading W.L.L.',
    '',
    'Example Street, Block 0\nKuwait City\nKuwait',
    buying,
    'KW',
  ),
  switzerland: customer(
    'Beispielhandel AG',
    'CHE-000.000.001',
    'Musterweg 4\n8000 Zürich\nSchweiz',
    'Einkauf',
    'CH',
  ),
  andorra: customer(
    'Client d’exemple, S.L.',
    'L-000001-X',
    'Carrer Fictici, 9\nAD500 Andorra la Vella\nAndorra',
    purchasing,
    'AD',
  ),
  countryUnknown: customer('Example Customer Without Address', '', '', buying, ''),
}

function customer(
  name: string,
  taxId: string,
  address: string,
  contact: string,
  country: string,
): ExampleCustomer {
  return { name, taxId, address, contact, country }
}
