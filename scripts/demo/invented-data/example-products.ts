// The products of the example quotes, as a Spanish wholesaler might sell them, with EUR prices. HS
// codes are from HS 2022.

type Iva = '21' | '10' | '4'
type Listed = [
  sku: string,
  name: string,
  unit: string,
  price: string,
  iva: Iva,
  hsCode: string,
  originCountry: string,
  more?: Extra,
]
type Extra = { brand?: string; description?: string }

export type ExampleProduct = {
  sku: string
  name: string
  description: string
  category: string
  brand: string
  unit: string
  /** In EUR per unit. */
  price: string
  hsCode: string
  originCountry: string
  /** Spanish VAT in percent. Only quotes to Spain use it; the product import has no such column. */
  iva: Iva
}

const pro = 'Ejemplo Pro'
const home = 'Ejemplo Hogar'
const works = 'Example Works'

const listedByCategory: Record<string, Listed[]> = {
  Herramientas: [
    ['AB-742-X', 'Martillo de bola 300 g', 'C62', '12.50', '21', '820520', 'ES'],
    ['AB-742-Y', 'Martillo de bola 500 g', 'C62', '14.90', '21', '820520', 'ES'],
    [
      'DES-PH2-100',
      'Destornillador Phillips PH2 × 100 mm',
      'C62',
      '4.35',
      '21',
      '820540',
      'ES',
      { brand: pro },
    ],
    [
      'LLA-13-COMB',
      'Llave combinada 13 mm',
      'C62',
      '5.80',
      '21',
      '820411',
      'ES',
      { brand: pro, description: 'Acero al cromo-vanadio.' },
    ],
    ['LLA-AJ-250', 'Llave ajustable 250 mm', 'C62', '16.20', '21', '820412', 'ES', { brand: pro }],
    [
      'ALI-UNI-180',
      'Alicate universal 180 mm',
      'C62',
      '9.60',
      '21',
      '820320',
      'DE',
      { brand: pro },
    ],
    ['CIN-MET-5M', 'Flexómetro 5 m', 'C62', '6.45', '21', '901780', 'CN'],
    ['BRO-SDS-08', 'Broca SDS-plus 8 × 160 mm', 'C62', '2.95', '21', '820750', 'DE'],
    [
      'TAL-18V-2B',
      'Taladro percutor a batería 18 V',
      'C62',
      '129.00',
      '21',
      '846721',
      'CN',
      { brand: pro, description: 'Con dos baterías.' },
    ],
  ],
  'Ferretería y fontanería': [
    ['TOR-M8X40-Z', 'Tornillo hexagonal M8 × 40 cincado', 'C62', '0.0835', '21', '731815', 'ES'],
    ['TUE-M8-934', 'Tuerca hexagonal M8, DIN 934', 'C62', '0.0312', '21', '731816', 'ES'],
    ['ARA-M8-125', 'Arandela plana M8, DIN 125', 'C62', '0.0148', '21', '731822', 'ES'],
    [
      'CAN-PVC-110',
      'Cañería de PVC Ø 110 mm',
      'MTR',
      '4.2750',
      '21',
      '391723',
      'ES',
      { description: 'Para evacuación; se corta a medida.' },
    ],
    ['COD-PVC-110', 'Codo de PVC Ø 110 mm, 87°', 'C62', '2.85', '21', '391740', 'ES'],
    ['VAL-BOLA-34', 'Válvula de bola 3/4", latón', 'C62', '7.90', '21', '848180', 'IT'],
    ['CAD-GALV-6', 'Cadena galvanizada 6 mm', 'MTR', '3.15', '21', '731582', 'ES'],
    ['CAND-LAT-40', 'Candado de latón 40 mm', 'C62', '8.25', '21', '830110', 'ES'],
  ],
  'Material eléctrico': [
    ['CAB-H07-25', 'Cable H07V-K 2,5 mm², azul', 'MTR', '0.5120', '21', '854449', 'ES'],
    ['MAG-C16-1P', 'Interruptor magnetotérmico C16', 'C62', '6.70', '21', '853620', 'ES'],
    ['DIF-40-30', 'Interruptor diferencial 40 A, 30 mA', 'C62', '27.40', '21', '853630', 'ES'],
    ['LED-E27-9W', 'Bombilla LED E27, 9 W', 'C62', '1.95', '21', '853952', 'CN'],
    ['ENC-SCH-16', 'Base de enchufe Schuko 16 A', 'C62', '2.35', '21', '853669', 'ES'],
  ],
  Alimentación: [
    [
      'ACE-OVE-5L',
      'Aceite de oliva virgen extra, garrafa de 5 L',
      'C62',
      '38.50',
      '4',
      '150920',
      'ES',
    ],
    [
      'QUE-MAN-3K',
      'Queso manchego curado, pieza de unos 3 kg',
      'KGM',
      '17.40',
      '4',
      '040690',
      'ES',
    ],
    ['MIEL-AZ-1K', 'Miel de azahar 1 kg', 'C62', '9.80', '10', '040900', 'ES'],
    ['PIM-VERA-70', 'Pimentón dulce ahumado 70 g', 'C62', '2.15', '10', '090422', 'ES'],
    ['AZA-HEB-1G', 'Azafrán en hebra 1 g', 'C62', '4.90', '10', '091020', 'ES'],
    ['ALM-MAR-KG', 'Almendra marcona repelada', 'KGM', '11.85', '10', '080212', 'ES'],
    ['CAF-GRA-1K', 'Café en grano de tueste natural 1 kg', 'C62', '14.60', '10', '090121', 'ES'],
    ['TUR-BLA-250', 'Turrón blando 250 g', 'C62', '6.90', '10', '170490', 'ES'],
    ['CON-ATUN-900', 'Atún claro en aceite de oliva 900 g', 'C62', '10.75', '10', '160414', 'ES'],
    ['VIN-TIN-75', 'Vino tinto crianza 75 cl', 'C62', '5.95', '21', '220421', 'ES'],
  ],
  'Textil y hogar': [
    [
      'MAN-LAN-140',
      'Manta de lana 140 × 200 cm',
      'C62',
      '34.00',
      '21',
      '630120',
      'PT',
      { brand: home },
    ],
    [
      'TOA-ALG-50',
      'Toalla de rizo de algodón 50 × 100 cm',
      'C62',
      '4.85',
      '21',
      '630260',
      'PT',
      { brand: home },
    ],
    [
      'LON-ALG-150',
      'Loneta de algodón, ancho 150 cm',
      'MTR',
      '6.3750',
      '21',
      '520931',
      'ES',
      { description: 'Teñida, 240 g/m².' },
    ],
    ['BOL-ALG-38', 'Bolsa de algodón 38 × 42 cm', 'C62', '1.1850', '21', '420292', 'IN'],
  ],
  'Juguetes y papelería': [
    ['JUG-CAM-01', 'Camión de juguete de madera', 'C62', '13.90', '21', '950300', 'ES'],
    ['JUG-PUZ-100', 'Puzle de 100 piezas', 'C62', '8.50', '21', '950300', 'ES'],
    ['MUN-TRA-30', 'Muñeca de trapo 30 cm', 'C62', '15.20', '21', '950300', 'ES'],
    ['CUA-A5-80', 'Cuaderno A5 rayado, 80 hojas', 'C62', '1.85', '21', '482020', 'PT'],
    ['BOL-AZU-50', 'Bolígrafo azul, caja de 50', 'C62', '9.90', '21', '960810', 'CN'],
    ['LIB-COC-ES', 'Libro de cocina española', 'C62', '18.00', '4', '490199', 'ES'],
  ],
  Jardín: [
    ['TIJ-POD-20', 'Tijera de podar 20 cm', 'C62', '12.30', '21', '820150', 'ES', { brand: pro }],
    ['SIE-POD-21', 'Sierra de poda 210 mm', 'C62', '11.75', '21', '820210', 'PT', { brand: pro }],
    ['MAN-RIE-25', 'Manguera de riego 25 m', 'C62', '21.50', '21', '391739', 'IT'],
    [
      'SEM-CES-10',
      'Semillas de césped (raigrás inglés) 10 kg',
      'C62',
      '32.00',
      '10',
      '120925',
      'DK',
    ],
    ['MAC-BAR-30', 'Macetero de barro 30 cm', 'C62', '7.20', '21', '691490', 'ES'],
  ],
  Packaging: [
    [
      'BOX-400-300',
      'Double-wall cardboard box 400 × 300 × 300 mm',
      'C62',
      '1.1250',
      '21',
      '481910',
      'ES',
    ],
    ['TAPE-48-66', 'Packing tape 48 mm × 66 m', 'C62', '1.34', '21', '391910', 'IT'],
    [
      'KRAFT-900-70',
      'Kraft paper on rolls, 900 mm, 70 g/m²',
      'KGM',
      '1.1840',
      '21',
      '480431',
      'SE',
    ],
    [
      'LABEL-100-150',
      'Thermal labels 100 × 150 mm, roll of 500',
      'C62',
      '5.60',
      '21',
      '482190',
      'ES',
    ],
    ['BOTTLE-500-G', 'Glass bottle 500 ml', 'C62', '0.4825', '21', '701090', 'ES'],
    ['PALLET-EUR', 'Wooden pallet 1200 × 800 mm', 'C62', '11.90', '21', '441520', 'ES'],
  ],
  Workwear: [
    [
      'BOOT-S3-43',
      'Safety boots S3, size 43',
      'PR',
      '48.90',
      '21',
      '640340',
      'PT',
      { brand: works },
    ],
    [
      'HAT-EN397-W',
      'Safety helmet EN 397, white',
      'C62',
      '8.40',
      '21',
      '650610',
      'FR',
      { brand: works },
    ],
    [
      'GLOVE-NIT-9',
      'Nitrile gloves, size 9',
      'PR',
      '1.2350',
      '21',
      '401519',
      'MY',
      { brand: works },
    ],
  ],
  'Kitchen and catering': [
    ['PAN-ALU-28', 'Frying pan, forged aluminium, 28 cm', 'C62', '22.40', '21', '761510', 'IT'],
    ['KNIFE-CHEF-20', "Chef's knife 20 cm", 'C62', '26.50', '21', '821192', 'ES'],
    ['MUG-STN-35', 'Stoneware mug 350 ml', 'C62', '3.75', '21', '691200', 'PT'],
    ['TEA-BRK-250', 'Breakfast tea 250 g', 'C62', '5.25', '10', '090230', 'LK'],
    ['BISC-SHRT-200', 'Shortbread biscuits 200 g', 'C62', '2.90', '10', '190531', 'GB'],
  ],
  'Industrial supplies': [
    ['BRG-6204-2RS', 'Ball bearing 6204-2RS', 'C62', '3.42', '21', '848210', 'SK'],
    ['BELT-SPZ-1000', 'V-belt SPZ 1000', 'C62', '5.65', '21', '401032', 'DE'],
    ['OIL-HYD-46', 'Hydraulic oil ISO VG 46', 'LTR', '2.8750', '21', '271019', 'ES'],
    ['MOT-3P-055', 'Three-phase motor 0.55 kW', 'C62', '104.00', '21', '850151', 'IT'],
  ],
}

export const catalogue: readonly ExampleProduct[] = Object.entries(listedByCategory).flatMap(
  ([category, listed]) =>
    listed.map(
      ([
        sku,
        name,
        unit,
        price,
        iva,
        hsCode,
        originCountry,
        { brand = '', description = '' } = {},
      ]) => {
        return { sku, name, description, category, brand, unit, price, hsCode, originCountry, iva }
      },
    ),
)
