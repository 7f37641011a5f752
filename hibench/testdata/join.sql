SET mapreduce.job.maps=3;
SET mapreduce.job.reduces=2;
CREATE EXTERNAL TABLE rankings (pageURL STRING, pageRank INT, avgDuration INT) ROW FORMAT DELIMITED FIELDS TERMINATED BY ',' STORED AS SEQUENCEFILE LOCATION 'FOLDER/Input/rankings';
CREATE EXTERNAL TABLE uservisits (sourceIP STRING, destURL STRING, visitDate STRING, adRevenue DOUBLE, userAgent STRING, countryCode STRING, languageCode STRING, searchWord STRING, duration INT) ROW FORMAT DELIMITED FIELDS TERMINATED BY ',' STORED AS SEQUENCEFILE LOCATION 'FOLDER/Input/uservisits';
CREATE EXTERNAL TABLE rankings_uservisits_join (sourceIP STRING, avgPageRank DOUBLE, totalRevenue DOUBLE) STORED AS SEQUENCEFILE LOCATION 'FOLDER/Output-t1/rankings_uservisits_join';
INSERT OVERWRITE TABLE rankings_uservisits_join
SELECT v.sourceIP, AVG(r.pageRank), SUM(v.adRevenue) AS totalRevenue
FROM uservisits v JOIN rankings r ON r.pageURL = v.destURL
WHERE v.visitDate BETWEEN '1999-01-01' AND '2000-01-01'
GROUP BY v.sourceIP
ORDER BY totalRevenue DESC;
