"""Sentences of the Universal Declaration of Human Rights (1948) in four languages.

Article 1 begins with the sentence in FIRST. OTHERS has sentences of Articles 1 and 3 to 9, in the
same order in each language.
"""

FIRST = {
    "English": "All human beings are born free and equal in dignity and rights.",
    "German": "Alle Menschen sind frei und gleich an Würde und Rechten geboren.",
    "Korean": "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다.",
    "Greek": "Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα.",
}

OTHERS = {
    "English": (
        "They are endowed with reason and conscience and should act towards one another in a "
        "spirit of brotherhood.",
        "Everyone has the right to life, liberty and security of person.",
        "No one shall be held in slavery or servitude; slavery and the slave trade shall be "
        "prohibited in all their forms.",
        "No one shall be subjected to torture or to cruel, inhuman or degrading treatment or "
        "punishment.",
        "Everyone has the right to recognition everywhere as a person before the law.",
        "All are equal before the law and are entitled without any discrimination to equal "
        "protection of the law.",
        "Everyone has the right to an effective remedy by the competent national tribunals for "
        "acts violating the fundamental rights granted him by the constitution or by law.",
        "No one shall be subjected to arbitrary arrest, detention or exile.",
    ),
    "German": (
        "Sie sind mit Vernunft und Gewissen begabt und sollen einander im Geist der "
        "Brüderlichkeit begegnen.",
        "Jeder hat das Recht auf Leben, Freiheit und Sicherheit der Person.",
        "Niemand darf in Sklaverei oder Leibeigenschaft gehalten werden; Sklaverei und "
        "Sklavenhandel sind in allen ihren Formen verboten.",
        "Niemand darf der Folter oder grausamer, unmenschlicher oder erniedrigender Behandlung "
        "oder Strafe unterworfen werden.",
        "Jeder hat das Recht, überall als rechtsfähig anerkannt zu werden.",
        "Alle Menschen sind vor dem Gesetz gleich und haben ohne Unterschied Anspruch auf "
        "gleichen Schutz durch das Gesetz.",
        "Jeder hat Anspruch auf einen wirksamen Rechtsbehelf bei den zuständigen "
        "innerstaatlichen Gerichten gegen Handlungen, durch die seine ihm nach der Verfassung "
        "oder nach dem Gesetz zustehenden Grundrechte verletzt werden.",
        "Niemand darf willkürlich festgenommen, in Haft gehalten oder des Landes verwiesen werden.",
    ),
    "Korean": (
        "인간은 천부적으로 이성과 양심을 부여받았으며 서로 형제애의 정신으로 행동하여야 한다.",
        "모든 사람은 생명과 신체의 자유와 안전에 대한 권리를 가진다.",
        "어느 누구도 노예상태 또는 예속상태에 놓여지지 아니한다. 모든 형태의 노예제도와 "
        "노예매매는 금지된다.",
        "어느 누구도 고문, 또는 잔혹하거나 비인도적이거나 굴욕적인 처우 또는 형벌을 받지 아니한다.",
        "모든 사람은 어디에서나 법 앞에 인간으로서 인정받을 권리를 가진다.",
        "모든 사람은 법 앞에 평등하며 어떠한 차별도 없이 법의 동등한 보호를 받을 권리를 가진다.",
        "모든 사람은 헌법 또는 법률이 부여한 기본적 권리를 침해하는 행위에 대하여 권한있는 "
        "국내법정에서 실효성 있는 구제를 받을 권리를 가진다.",
        "어느 누구도 자의적으로 체포, 구금 또는 추방되지 아니한다.",
    ),
    "Greek": (
        "Είναι προικισμένοι με λογική και συνείδηση, και οφείλουν να συμπεριφέρονται μεταξύ τους "
        "με πνεύμα αδελφοσύνης.",
        "Κάθε άτομο έχει δικαίωμα στη ζωή, την ελευθερία και την προσωπική του ασφάλεια.",
        "Κανείς δεν επιτρέπεται να ζει υπό καθεστώς δουλείας, ολικής ή μερικής. Η δουλεία και το "
        "δουλεμπόριο υπό οποιαδήποτε μορφή απαγορεύονται.",
        "Κανείς δεν επιτρέπεται να υποβάλλεται σε βασανιστήρια ούτε σε ποινή ή μεταχείριση "
        "σκληρή, απάνθρωπη ή ταπεινωτική.",
        "Καθένας, όπου και αν βρίσκεται, έχει δικαίωμα στην αναγνώριση της νομικής του "
        "προσωπικότητας.",
        "Όλοι είναι ίσοι απέναντι στον νόμο και έχουν δικαίωμα σε ίση προστασία του νόμου, χωρίς "
        "καμία απολύτως διάκριση.",
        "Καθένας έχει δικαίωμα να ασκεί αποτελεσματικά ένδικα μέσα στα αρμόδια εθνικά δικαστήρια "
        "κατά των πράξεων που παραβιάζουν τα θεμελιακά δικαιώματα τα οποία του αναγνωρίζουν το "
        "Σύνταγμα και ο νόμος.",
        "Κανείς δεν μπορεί να συλλαμβάνεται, να κρατείται ή να εξορίζεται αυθαίρετα.",
    ),
}
